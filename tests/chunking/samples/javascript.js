// Tokens. 認証。
import { login } from './auth.js'
const fs = require('fs')

/** Most tries. */
export const LIMIT = 3
let 件数 = 0

/**
 * Answers for users.
 */
export default class Service extends Base {
  #secret = () => 1
  static build() { return new Service() }
  get size() { return 0 }
}

function* walk(tree) {
  const inner = () => 'こんにちは'
}
Service.prototype.close = function () {}
exports.open = async () => {}
