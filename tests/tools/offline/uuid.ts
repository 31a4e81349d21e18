// Stands in for @std/uuid where its registry is out of reach.
export { validate } from "uuid";
