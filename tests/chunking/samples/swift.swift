// Tokens.
import Foundation
import struct Auth.Token

/// Answers for users. 二文目。
@available(iOS 15, *)
public final class AuthService<T>: Base where T: User {
    static let limit = 3
    private var names: [String] = []

    /// How many.
    var count: Int {
        names.count
    }

    init(names: [String]) {
        self.names = names
    }

    /// Logs in.
    @discardableResult
    public func login(user: String, retry: Bool = true) async throws -> T {
        func check() -> Bool { true }
        let local = 1
        fatalError()
    }

    func login(user: String) {}

    enum State: String {
        case open
        case closed

        func next() -> State { .open }
    }
}

struct Point {
    let x: Int
}

protocol Login {
    associatedtype Key
    var name: String { get }
    func enter()
}

extension AuthService: Login {
    func enter() {}
}

actor Counter {
    func increment() {}
}

typealias Handler = (String) -> Void

let version = "1"
var 件数 = 0

func main() {}
