/** The oldest supported major version of Node.js. */
export const oldestNode = 24;

/**
 * An error message for a version of Node.js, such as `22.1.0`; undefined if the version is
 * supported.
 */
export function nodeVersionProblem(version: string): string | undefined {
  const major = Number(version.split(".")[0]);
  if (major >= oldestNode) return undefined;
  return `Node.js ${version} is too old; run Latchkey with Node.js ${oldestNode} or later`;
}
