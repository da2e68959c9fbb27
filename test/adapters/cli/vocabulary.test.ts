/** What completion knows of every argument and every value of an option that the command line has. */
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { pathOf, shownCommands, valueNameOf } from "../../../adapters/cli/completion/place.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import { meaningOf, namedCommands } from "../../../adapters/cli/vocabulary.ts";

const program = createProgram(() => async () => {});
const commands = [program, ...below(program)];

function below(command: Command): Command[] {
  return shownCommands(command).flatMap((each) => [each, ...below(each)]);
}

/** The words that stand for something: those of arguments, and the options that take a value. */
function wordsOf(command: Command): { word: string; option?: string }[] {
  const options = command.options.filter(
    ({ required, optional, argChoices }) => (required || optional) && !argChoices,
  );
  return [
    ...command.registeredArguments.map((argument) => ({ word: argument.name() })),
    ...options.map((option) => ({ word: valueNameOf(option), option: option.long ?? option.flags })),
  ];
}

describe("the vocabulary", () => {
  it("says of every argument and every value what it means", () => {
    const unsaid = commands.flatMap((command) =>
      wordsOf(command)
        .filter(({ word, option }) => meaningOf(pathOf(command), word, option) === undefined)
        .map(({ word, option }) => `${pathOf(command)} ${option ?? ""} <${word}>`),
    );
    expect(commands.length).toBeGreaterThan(80);
    expect(unsaid).toEqual([]);
  });

  it("names no command, argument or option that there is not", () => {
    const known = new Map(
      commands.map((command) => [
        pathOf(command),
        new Set(wordsOf(command).map(({ word, option }) => option ?? word)),
      ]),
    );
    const wrong = namedCommands().flatMap(([command, words]) =>
      words.filter((word) => known.get(command)?.has(word) !== true).map((word) => `${command}: ${word}`),
    );
    expect(wrong).toEqual([]);
  });
});
