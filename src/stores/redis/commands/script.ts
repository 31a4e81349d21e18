/** A Lua script and its SHA-1, by which the server knows it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}
