// Package auth logs in. 認証。
package auth

import (
	"fmt"
	j "encoding/json"
)

// Limit of tries.
const Limit = 3

var 件数 int

// Server answers. It never sleeps.
type Server[T any] struct{ n int }

type Reader interface{ Read() }

// Handle a call.
func (s *Server[T]) Handle(x int) error {
	local := func() {}
	return nil
}

func main() { fmt.Println("こんにちは", j.Valid) }
