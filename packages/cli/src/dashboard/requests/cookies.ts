/** Returns the header that gives a cookie to the browser: only for pages of the dashboard, and hidden from scripts. */
export function cookieOf(request: Request, base: string, name: string, value: string): string {
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  return `${name}=${value}; Path=${base === "" ? "/" : base}; HttpOnly; SameSite=Strict${secure}`;
}

/** Returns the value of a cookie that came with a request. */
export function cookieIn(request: Request, name: string): string | undefined {
  return new RegExp(`(?:^|;\\s*)${name}=([^;]*)`).exec(request.headers.get("cookie") ?? "")?.[1];
}
