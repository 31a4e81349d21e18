/** Returns whether only this machine can reach this host name. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Returns whether a request names this machine as its host. A page of another site can make its own name resolve to
 * 127.0.0.1 (DNS rebinding) and read the answers; but its requests carry that name.
 */
export function namesLoopback(request: Request): boolean {
  return isLoopback(new URL(request.url).hostname.replace(/^\[(.*)\]$/, "$1"));
}
