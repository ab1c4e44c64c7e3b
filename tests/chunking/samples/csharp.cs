// 認証。
using System;
using System.Collections.Generic;
using static System.Math;
using Json = Newtonsoft.Json.Linq;

namespace Example.Auth;

/// <summary>
/// Answers for users. Second sentence.
/// </summary>
[Serializable]
[Obsolete("use Other")]
public sealed partial class AuthService<T> : Base, ILogin where T : class
{
    public const int Limit = 3;
    private static readonly List<string> Names = new();
    private int count;

    /// <summary>The name.</summary>
    public string Name { get; set; } = "名前";

    public int Length => 0;

    public AuthService(string name) { Name = name; }

    ~AuthService() { }

    /// <summary>Logs in.</summary>
    [HttpPost("login")]
    public async Task<R> Login<R>(string user, CancellationToken token = default)
    {
        int local = 1;
        bool Check(string s) => s.Length > 0;
        return default;
    }

    public Task Login(string user) => Task.CompletedTask;

    void ILogin.Enter() { }

    public event EventHandler<string> Changed;

    public enum State { Open, Closed }

    private struct Point { public int X; }
}

public record User(string Name, int Age);

public interface ILogin
{
    void Enter();
}

public delegate void Handler(string name);
