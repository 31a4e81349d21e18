/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns an address as URLs have it. */
export function hostAndPort({ host, port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
