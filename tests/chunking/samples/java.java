/* Copyright 2024 */
package com.example.auth;

import java.util.List;
import static java.util.Objects.requireNonNull;

/**
 * ログインを扱う。詳細は別紙。
 *
 * @param <T> the user
 */
@Service
@Deprecated(since = "2")
public abstract class AuthService<T extends User> extends Base implements Login {
    public static final int LIMIT = 3, TRIES = 4;
    private final List<String> names;

    /** Makes one. */
    public AuthService(List<String> names) {
        this.names = names;
    }

    // Logs in.
    @Override
    public <R> R login(String user, R fallback) throws AuthException {
        return fallback;
    }

    public <R> R login(String user) {
        int local = 1;
        return null;
    }

    abstract void 終了();

    /** A state. */
    enum State {
        OPEN { void leave() {} },
        CLOSED;

        State next() { return OPEN; }
    }

    record Point(int x, int y) {
        Point {
            requireNonNull(x);
        }
    }

    @interface Audited {
        String value() default "";
    }
}

interface Login {
    String NAME = "login";

    void enter();
}
