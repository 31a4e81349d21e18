/** Returns whether an error of ioredis is a reply of the server. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === "ReplyError";
}
