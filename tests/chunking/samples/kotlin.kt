// 認証まわり。
package com.example.auth

import kotlin.math.max
import com.example.store.*

/** Most tries. */
const val LIMIT = 3
val defaultName = "guest"
var counter = 0

/**
 * Answers for users.
 *
 * @property name who
 */
@Serializable
data class User<T>(val name: String, val data: T) : Base() {
    val initials: String
        get() = name.take(1)

    constructor(name: String) : this(name, null)

    /** Says hello. */
    fun hello(): String {
        val local = 1
        return "こんにちは"
    }

    companion object {
        const val VERSION = 2

        fun guest() = User("guest", null)
    }

    inner class Cursor
}

sealed interface Shape {
    val area: Double

    fun draw()
}

enum class Colour { RED, GREEN; fun mix() = RED }

object Registry {
    fun register(user: User<*>) {}
}

annotation class Audited

typealias Handler = (String) -> Unit

// Shouts.
fun String.shout(): String = uppercase()

fun <T> List<T>.second(): T? = getOrNull(1)

val String.initial: Char
    get() = first()

fun `名前 with spaces`() {}

suspend inline fun <reified T> load(path: String): T = TODO()
