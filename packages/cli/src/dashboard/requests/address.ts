/** The parameters of a link; `undefined` ones are left out. */
export type Parameters = Readonly<Record<string, string | number | undefined>>;

/**
 * Returns the address of a page of the dashboard. Names stand in parameters, not in the path: browsers and proxies
 * change paths with `..`, `//` or `%2F`.
 */
export function address(base: string, path: string, parameters: Parameters = {}): string {
  const query = Object.entries(parameters).flatMap(([key, value]) => {
    // Half a surrogate pair has no encoding.
    return value === undefined ? [] : [`${key}=${encodeURIComponent(String(value).toWellFormed())}`];
  });
  return `${base}/${path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}
