/** Returns the contrast of two colours, from 1 to 21, as in WCAG 2. A colour is red, green and blue, from 0 to 255. */
export function contrast(a: readonly number[], b: readonly number[]): number {
  const [darker, lighter] = [luminance(a), luminance(b)].sort((a, b) => a - b) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
