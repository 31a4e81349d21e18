/** A request that is refused. The message says why, and what to do. */
export class RequestError extends Error {
  /** The name of the class. */
  override readonly name = "RequestError";
  /** The status of the response. */
  readonly status: number;
  /** Headers of the response. */
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}
