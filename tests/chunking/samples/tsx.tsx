import { useState } from 'react'

interface Props { name: string }

/** Greets. 挨拶する。 */
export function Greeting({ name }: Props) {
  const [count, setCount] = useState<number>(0)
  return <p onClick={() => setCount(count + 1)}>こんにちは {name}</p>
}

export const Card = ({ children }: { children: React.ReactNode }) => <div>{children}</div>
