import type { Product } from "./productSearch";

type Props = { products: Product[]; onRemove: (sku: string) => void };

/** Lists the products in the cart with a button to remove each. */
export function CartView({ products, onRemove }: Props) {
  return (
    <ul>
      {products.map((product) => (
        <li key={product.sku}>
          {product.title} <button onClick={() => onRemove(product.sku)}>×</button>
        </li>
      ))}
    </ul>
  );
}
