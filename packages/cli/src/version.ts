/** The version of the package, as in deno.json. The npm package has no deno.json. */
export const VERSION = "0.1.0";
