/** Control and format characters, separators of lines, and all white space but the space itself. */
export const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu;
