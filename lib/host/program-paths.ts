/** The paths in the arguments of a program. */
import type { HostCommand } from "./host.ts";

/** The arguments with each word of {@link HostCommand.opens} at the end of one replaced by what the program is to use. */
export function withPaths(
  { argv, opens = {} }: Pick<HostCommand, "argv" | "opens">,
  nameOf: (path: string) => string,
): HostCommand["argv"] {
  const names = Object.entries(opens).map(([word, path]) => [word, nameOf(path)] as const);
  const [program, ...args] = argv;
  const replaced = args.map((argument) => {
    const [word, name] = names.find(([each]) => argument.endsWith(each)) ?? [];
    return word === undefined ? argument : `${argument.slice(0, -word.length)}${name}`;
  });
  return [program, ...replaced];
}
