/** What may stand where somebody asks for completion. */
import type { Argument, Command, Option } from "commander";
import { meaningOf } from "../vocabulary.ts";
import type { Meaning, NameSource } from "../vocabulary.ts";

/** One word that may stand there, and what it is. */
export interface Word {
  word: string;
  about?: string;
}

/** What may stand at a place. */
export interface Place {
  /** Words of the command line itself. */
  words: Word[];
  /** Where other words come from; null where nobody knows any. */
  source: NameSource | null;
  /** What stands before the value in the same word, as `--output=`; empty where nothing does. */
  before: string;
  /** What is there of the word that is completed, without that. */
  typed: string;
  /** The command, without the name of the program, e.g. `agents list`. */
  command: string;
  /** Options that every command takes, as far as they were given. */
  given: { url?: string; profile?: string };
}

/**
 * Finds what may stand behind the words of a line.
 *
 * @param program - Every command, as it is declared.
 * @param line - The words behind the name of the program; the last one is completed.
 */
export function placeIn(program: Command, line: readonly string[]): Place {
  const typed = line.at(-1) ?? "";
  const walk = new Walk(program);
  for (const word of line.slice(0, -1)) walk.take(word);
  const { given, path: command } = walk;
  const at = (found: Pick<Place, "words" | "source">): Place => ({
    ...found,
    before: "",
    typed,
    given,
    command,
  });
  if (walk.pending) return at(ofMeaning(walk.meaningOfValue(walk.pending)));
  if (!walk.isPastOptions && typed.startsWith("-")) {
    const [, before = "", value = ""] = /^(--[^=]+=)(.*)$/s.exec(typed) ?? [];
    const option = before === "" ? undefined : walk.findOption(before.slice(0, -1));
    if (option) return { ...ofMeaning(walk.meaningOfValue(option)), before, typed: value, given, command };
    return at({ words: before === "" ? walk.options() : [], source: null });
  }
  const { words, source } = ofMeaning(walk.meaningOfArgument());
  const all = [...walk.commands(), ...words];
  // Where nothing else can follow, options do.
  const isEnd = all.length === 0 && source === null && !walk.isPastOptions && walk.argument === undefined;
  return at({ words: isEnd ? walk.options() : all, source });
}

/** Goes along a line as the parser does. */
class Walk {
  readonly given: Place["given"] = {};
  /** An option whose value comes next. */
  pending: Option | null = null;
  /** Whether `--` stands before. */
  isPastOptions = false;
  readonly #program: Command;
  #command: Command;
  #arguments = 0;

  constructor(program: Command) {
    this.#program = program;
    this.#command = program;
  }

  take(word: string): void {
    if (this.pending) {
      this.#keep(this.pending, word);
      this.pending = null;
    } else if (!this.isPastOptions && word === "--") {
      this.isPastOptions = true;
    } else if (!this.isPastOptions && word.startsWith("-") && word !== "-") {
      const [name = "", ...value] = word.split("=");
      const option = this.findOption(name);
      if (option && value.length > 0) this.#keep(option, value.join("="));
      else if (option?.required === true) this.pending = option;
    } else {
      const next = this.#arguments === 0 ? findCommand(this.#command, word) : undefined;
      if (next) this.#command = next;
      else this.#arguments += 1;
    }
  }

  /** The argument that comes next. */
  get argument(): Argument | undefined {
    const all = this.#command.registeredArguments;
    const last = all.at(-1);
    return all[this.#arguments] ?? (last?.variadic === true ? last : undefined);
  }

  meaningOfArgument(): Meaning {
    const { argument } = this;
    return argument ? (meaningOf(this.path, argument.name()) ?? null) : null;
  }

  meaningOfValue(option: Option): Meaning {
    return option.argChoices ?? meaningOf(this.path, valueNameOf(option), option.long) ?? null;
  }

  findOption(name: string): Option | undefined {
    return this.#allOptions().find(({ long, short }) => long === name || short === name);
  }

  options(): Word[] {
    const told = this.#allOptions().flatMap(({ long, description, hidden }) =>
      long === undefined || long === null || hidden ? [] : [{ word: long, about: description }],
    );
    return [...told, { word: "--help", about: "show help" }];
  }

  commands(): Word[] {
    if (this.#arguments > 0) return [];
    return shownCommands(this.#command).map((each) => ({ word: each.name(), about: each.description() }));
  }

  get path(): string {
    return pathOf(this.#command);
  }

  #allOptions(): Option[] {
    const own = [...this.#command.options];
    return this.#command === this.#program ? own : [...own, ...this.#program.options];
  }

  #keep({ long }: Option, value: string): void {
    if (long === "--url") this.given.url = value;
    if (long === "--profile") this.given.profile = value;
  }
}

/** Where a command stands below the program, e.g. `agents list`; empty for the program. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : "";
}

/** What the help calls the value of an option: `format` of `--output <format>`; empty where it has none. */
export function valueNameOf({ flags }: Option): string {
  return (/[<[]([^>\]]+?)(\.\.\.)?[>\]]$/.exec(flags)?.[1] ?? "").trim();
}

/** The commands below one that its help lists. */
export function shownCommands(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help");
}

function findCommand(command: Command, word: string): Command | undefined {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word));
}

function ofMeaning(meaning: Meaning): Pick<Place, "words" | "source"> {
  if (meaning === null) return { words: [], source: null };
  if (typeof meaning === "string") return { words: [], source: meaning };
  return { words: meaning.map((word) => ({ word })), source: null };
}
