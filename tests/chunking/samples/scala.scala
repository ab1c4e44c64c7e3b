/** Tokens. And more. */
package com.example.auth

import scala.collection.mutable.{Map => MutableMap, Set}
import com.example.store._

/** A user.
  *
  * With a name.
  */
@SerialVersionUID(1L)
case class User[T](name: String, data: T) extends Base with Login {
  val initials = name.take(1)

  /** Says hello. */
  def hello(): String = {
    val local = 1
    "こんにちは"
  }

  class Cursor
}

object User {
  val Limit = 3
  def apply(name: String): User[Unit] = User(name, ())
}

sealed trait Shape {
  def area: Double
  type Unit2
}

enum Colour {
  case Red, Green
  def mix: Colour = Red
}

given userOrdering: Ordering[String] with {
  def compare(a: String, b: String): Int = 0
}

extension (text: String) {
  def shout: String = text.toUpperCase
}

type Handler = String => Unit

def 挨拶(name: String): String = name

val Version = "1"
var counter = 0
