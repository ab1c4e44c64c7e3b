// Tokens. 認証。
import type { User } from './models/user'
export * from '../again'

/** What a user does. */
export interface Login<T extends User> {
  enter(name: string): T
}

/** Answers for users. 二文目。 */
@Injectable({ providedIn: 'root' })
export class Service<T> implements Login<T> {
  private handle = (x: number): string => '設定'

  // Where it goes.
  @Get('/login')
  @Guarded()
  enter(name: string): T { return null! }
}

export enum Colour { Red, Green }
export type Handler = (name: string) => void
export function over(a: string): void
export function over(a: number): void
export function over(a: any) {}
namespace Inner { export const deep = () => 1 }
