<?php
/**
 * Tokens. 認証。
 */
declare(strict_types=1);

namespace App\Auth;

use App\Store\Base;
use App\Models\{User, Token as T};
use function App\helper;

require_once __DIR__ . '/bootstrap.php';

const LIMIT = 3;
define('VERSION', '1.0');

/**
 * Answers for users.
 *
 * @package Auth
 */
#[Route('/auth')]
final class AuthService extends Base implements Login
{
    use Loggable;

    public const TRIES = 4;
    private string $name = '名前';

    public function __construct(private readonly User $user)
    {
    }

    /** Logs in. */
    #[Pure]
    public static function login(string $user, ?int $age = null): ?T
    {
        $local = function () { return 1; };
        return null;
    }
}

interface Login
{
    public function enter(): void;
}

trait Loggable
{
    protected function log(string $line): void {}
}

enum State: string
{
    case Open = 'open';

    public function next(): self { return self::Open; }
}

function 挨拶(): string
{
    return 'こんにちは';
}
