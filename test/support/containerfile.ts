/** A Containerfile, line by line. */

/** One instruction, with its lines joined. */
export interface Instruction {
  /** `FROM`, `RUN` and so on. */
  name: string;
  /** All behind it. */
  text: string;
}

/** The stages of a Containerfile, each from its `FROM` on. */
export function stagesOf(content: string): Instruction[][] {
  const lines = content
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "");
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name = "", text = ""] = /^(\w+) (.*)$/.exec(line) ?? [];
    if (name === "FROM") stages.push([]);
    stages.at(-1)?.push({ name, text });
  }
  return stages;
}

/** What the instructions of a name say. */
export const textsOf = (stage: readonly Instruction[], name: string): string[] =>
  stage.filter((each) => each.name === name).map(({ text }) => text);

/** What a `COPY` copies: from another stage or the checkout, and where to. */
export function copyOf(text: string): { isFromBuild: boolean; sources: string[]; target: string } {
  const words = text.split(" ");
  const isFromBuild = words[0] === "--from=build";
  const paths = isFromBuild ? words.slice(1) : words;
  return { isFromBuild, sources: paths.slice(0, -1), target: paths.at(-1) ?? "" };
}

/** The words of an instruction in the form of a list. */
export const wordsOf = (text: string): string[] => JSON.parse(text.replace(/^[^[]*/, "")) as string[];
