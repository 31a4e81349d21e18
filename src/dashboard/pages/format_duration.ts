/**
 * Returns a duration as people read it: `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`.
 *
 * The script of the pages contains the text of this function, so that the server and the browser say the same: it uses
 * nothing from outside.
 *
 * @param ms the duration in milliseconds; below 0 counts as 0
 */
export function formatDuration(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 60) return seconds + " s";
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes + " min " + (seconds % 60) + " s";
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return hours + " h " + (minutes % 60) + " min";
  return Math.floor(hours / 24) + " d " + (hours % 24) + " h";
}
