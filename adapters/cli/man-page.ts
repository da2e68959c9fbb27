/** Pages for `man`, made of the commands as they are declared: see man(7) for the format. */
import type { Command, Option } from "commander";
import { pathOf, shownCommands } from "./completion/place.ts";
import { exitCode } from "./context.ts";

/** What each exit code says. */
export const exitMeanings: Readonly<Record<keyof typeof exitCode, string>> = {
  ok: "done; for a plan or a drift check: nothing differs",
  failure: "refused, failed or declined; standard error or the result says why",
  usage: "wrong usage: an unknown command or option, an unreadable file, `--yes` needed",
  differs: "a plan would or might change something, or a machine has drifted",
  notSignedIn: "not signed in, or the key is not known",
  unfinished: "`--no-wait`: the operation had not ended",
};

/**
 * Writes the page of the program, or of one of its commands with all that are below it.
 *
 * @param command - The program or one of the commands right below it.
 */
export function manPage(program: Command, command: Command = program): string {
  const name = command === program ? program.name() : `${program.name()}-${command.name()}`;
  const others = shownCommands(program).filter((each) => each !== command);
  const more =
    command === program ? others.map((each) => `${program.name()}-${each.name()}`) : [program.name()];
  return lines([
    `.TH ${name.toUpperCase()} 1 "" "${program.name()} ${program.version() ?? ""}" "Fleetwright"`,
    ".SH NAME",
    `${escaped(name)} \\- ${escaped(command.description())}`,
    ".SH SYNOPSIS",
    `.B ${escaped(usageOf(program, command))}`,
    ...(command === program ? overview(program) : details(program, command)),
    ".SH GLOBAL OPTIONS",
    ...program.createHelp().visibleOptions(program).flatMap(optionEntry),
    ".SH EXIT STATUS",
    ...Object.entries(exitMeanings).flatMap(([key, meaning]) => [
      ".TP",
      `.B ${exitCode[key as keyof typeof exitCode]}`,
      escaped(meaning.replaceAll("`", "")),
    ]),
    ".SH SEE ALSO",
    more.map((each) => `.BR ${escaped(each)} (1)`).join(",\n"),
  ]);
}

/** The commands of the program, a line each: what they take is on their own pages. */
function overview(program: Command): string[] {
  const entries = shownCommands(program).flatMap((command) => {
    const below = shownCommands(command).map((each) => each.name());
    const list = below.length === 0 ? "" : ` (${below.join(", ")})`;
    return [".TP", `.B ${escaped(command.name())}`, escaped(sentence(command.description()) + list)];
  });
  return [".SH COMMANDS", ...entries];
}

/** Every command with its options. */
function details(program: Command, command: Command): string[] {
  const below = shownCommands(command);
  const own = command.createHelp().visibleOptions(command).filter(isOwn);
  return [
    ...(own.length === 0 ? [] : [".SH OPTIONS", ...own.flatMap(optionEntry)]),
    ...(below.length === 0 ? [] : [".SH COMMANDS"]),
    ...below.flatMap((each) => [
      ".SS",
      `.B ${escaped(usageOf(program, each))}`,
      ".P",
      escaped(sentence(each.description())),
      ...each.createHelp().visibleOptions(each).filter(isOwn).flatMap(optionEntry),
    ]),
  ];
}

function usageOf(program: Command, command: Command): string {
  const names = command.aliases().map((alias) => `|${alias}`);
  return [program.name(), pathOf(command) + names.join(""), command.usage()]
    .filter((part) => part !== "")
    .join(" ");
}

/** Every command has this one; it stands among the global ones. */
function isOwn({ long }: Option): boolean {
  return long !== "--help";
}

function optionEntry({ flags, description, argChoices }: Option): string[] {
  const choices = argChoices === undefined ? "" : ` (${argChoices.join(", ")})`;
  return [".TP", `.B ${escaped(flags)}`, escaped(sentence(description) + choices)];
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** As roff takes a text for what it is: no control line, no escape, and hyphens that can be copied. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^(?=[.'])/gm, "\\&");
}

function lines(all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
