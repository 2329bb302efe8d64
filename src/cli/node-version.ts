/** The oldest major version of Node that runs Latchkey. */
export const oldestNode = 24;

/** What is wrong with a version of Node such as `24.21.0`; undefined if it runs Latchkey. */
export function nodeVersionProblem(version: string): string | undefined {
  const major = Number(version.split(".")[0]);
  if (major >= oldestNode) return undefined;
  return `Node.js ${version} is too old; run Latchkey with Node.js ${oldestNode} or later`;
}
