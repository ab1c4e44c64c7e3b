// Package inventory keeps count of what is in the warehouse.
package inventory

import "errors"

// ErrOutOfStock is returned when fewer items are left than asked for.
var ErrOutOfStock = errors.New("out of stock")

// StockKeeper counts items per product.
type StockKeeper struct {
	levels map[string]int
}

// NewStockKeeper returns an empty warehouse.
func NewStockKeeper() *StockKeeper {
	return &StockKeeper{levels: map[string]int{}}
}

// Reserve takes items of a product out of stock for an order.
func (k *StockKeeper) Reserve(sku string, quantity int) error {
	if k.levels[sku] < quantity {
		return ErrOutOfStock
	}
	k.levels[sku] -= quantity
	return nil
}

// Restock adds delivered items.
func (k *StockKeeper) Restock(sku string, quantity int) {
	k.levels[sku] += quantity
}
