/** The end of the id of a round, after the owner: a colon and a UUID. */
const ROUND = /:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the id of a new round. It begins with the owner, so that people who look at a node see whose it is. */
export function freshId(owner: string): string {
  return `${owner}:${crypto.randomUUID()}`;
}

/** Returns the owner of a round; an id that is not a round's is returned unchanged. */
export function ownerOf(id: string): string {
  return id.replace(ROUND, "");
}
