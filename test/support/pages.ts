/** What the guides tell their readers to run and to write, block by block. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../architecture/source-tree.ts";

/** A block of code in a guide. */
export interface PageBlock {
  language: string;
  /** Title of the section that it stands in. */
  section: string;
  text: string;
}

/** Every block of code of a guide, in order. */
export function blocksOf(path: string): PageBlock[] {
  const page = readFileSync(join(repository, path), "utf8");
  let section = "";
  return [...page.matchAll(/^#+ ([^\n]+)$|^```(\w+)\n(.*?)^```$/gms)].flatMap(
    ([, title, language = "", text = ""]) => {
      if (title === undefined) return [{ language, section, text }];
      section = title;
      return [];
    },
  );
}

/** The path of a block that is a whole file: it names it in its first line. */
export const fileOf = ({ text }: PageBlock): string | undefined => /^# (\/\S+)\n/.exec(text)?.[1];

/**
 * A script for sh that does what a guide says: it writes the files that the guide shows, and runs its commands as they stand there, until the
 * first that fails.
 */
export function scriptOf(blocks: readonly PageBlock[]): string {
  const steps = blocks.flatMap((block) => {
    const path = fileOf(block);
    if (path !== undefined) return [`mkdir -p ${path.slice(0, path.lastIndexOf("/"))}`, here(path, block)];
    return block.language === "sh" ? [block.text] : [];
  });
  return ["set -eu", ...steps].join("\n");
}

const here = (path: string, { text }: PageBlock): string =>
  `cat > ${path} <<'END OF FILE'\n${text}END OF FILE`;
