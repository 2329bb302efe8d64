/** The formats in which values are printed. */
export const valueFormats = ["value", "json", "yaml", "dotenv", "shell", "name"] as const;

/** A format of {@link valueFormats}. */
export type ValueFormat = (typeof valueFormats)[number];
