/** Values of flags by name, from arguments such as `--workers=4`. */
export function flagTexts(argv: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    argv.map((argument) => {
      const [, name = "", text = ""] = /^--([a-z-]+)=(.*)$/.exec(argument) ?? [];
      return [name, text] as const;
    }),
  );
}
