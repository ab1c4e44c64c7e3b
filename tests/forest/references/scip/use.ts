import { open, Tax } from "./cart"
const it = [open()].map((one) => one)
it[0].total()
new Tax().total()
// total
