/**
 * Characters that a reader cannot see, or that change how others are shown: control and format characters, characters
 * that turn the direction of the text, separators of lines, spaces other than the usual one, fillers, unpaired
 * surrogates, characters for private use or without a meaning.
 */
export const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/gu;
