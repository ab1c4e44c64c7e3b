import { fetchJson } from "./http";

export interface Product {
  sku: string;
  title: string;
  price: number;
}

/** Finds products whose title or description contains the words. */
export async function searchProducts(words: string, page = 1): Promise<Product[]> {
  const query = new URLSearchParams({ q: words, page: String(page) });
  return fetchJson<Product[]>(`/api/products?${query}`);
}

export const sortByPrice = (products: Product[]): Product[] =>
  [...products].sort((a, b) => a.price - b.price);
