/** The version in package.json. */
export const latchkeyVersion = "0.1.0";
