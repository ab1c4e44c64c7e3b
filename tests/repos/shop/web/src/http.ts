/** Fetches JSON and throws on any status but 2xx. */
export async function fetchJson<T>(url: string, init?: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  if (!response.ok) {
    throw new Error(`${response.status} for ${url}`);
  }
  return (await response.json()) as T;
}
