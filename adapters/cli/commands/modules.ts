import type { Command } from "commander";
import type { Module, ModuleCheck } from "fleetwright";
import { ApiError } from "../../client/api-error.ts";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { describeFailure } from "../failure.ts";
import { withSuggestion } from "../find-id.ts";
import { readModules, type GivenModule } from "../given-modules.ts";
import { integer, limitOption } from "../options.ts";
import { toJson } from "../output.ts";
import { uploadRequiredFirst } from "../required-first.ts";
import { countOf } from "../show-results.ts";
import { timeColumn, toLine, toLines, toSafeText } from "../text.ts";
import type { Column } from "../text.ts";

/** `fleetwright modules ...` */
export function addModulesCommands(program: Command, run: Run): void {
  const modules = program.command("modules").alias("module").description("declared state, in YAML");
  addOfflineCommands(modules, run);
  modules
    .command("list")
    .description("list modules")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) => call.showList(call.client.modules.list, options, columns)),
    );
  modules
    .command("show <name>")
    .description("show the content of a module")
    .option("--revision <number>", "an older revision", integer(1, 1_000_000_000))
    .action(
      run(async (call, name: string, options: { revision?: number }) => {
        const get = () => call.client.modules.get(name, options);
        const module = await withSuggestion(call, { module: name }, get);
        call.show(module, () => toSafeText(module.content));
      }),
    );
  modules
    .command("upload <file...>")
    .description(
      "upload modules, of folders all in YAML, those that others require first; - is standard input",
    )
    .action(run(uploadModules));
  modules
    .command("remove <name>")
    .description("remove a module that no assignment uses")
    .option(...sureOption)
    .action(
      run(async (call, name: string, options: SureOptions) => {
        await makeSure(call, options, `Remove the module ${name}`);
        await withSuggestion(call, { module: name }, () => call.client.modules.remove(name));
        call.show(null, () => toLines([`${name} is removed.`]));
      }),
    );
}

async function uploadModules(call: CommandCall, paths: string[]): Promise<ExitCode> {
  const uploaded: Module[] = [];
  let file = "";
  const upload = async (one: GivenModule): Promise<void> => {
    file = one.file;
    const module = await call.client.modules.upload({ content: one.content });
    uploaded.push(module);
    if (!call.options.json) call.context.stdout(toLines([toLine(describeUpload(module))]));
  };
  const given = await readModules(call.context, paths);
  const show = (result: Module | Module[]): void => {
    if (call.options.json) call.show(result, () => "");
  };
  try {
    await uploadRequiredFirst(given, upload, isOfRequirements);
  } catch (error) {
    // Each stays uploaded, whatever became of the next one.
    if (uploaded.length > 0) show(uploaded);
    call.tellFailure(error, file === "-" ? undefined : file);
    return describeFailure(error).code;
  }
  show(uploaded.length === 1 ? uploaded[0]! : uploaded);
  return exitCode.ok;
}

function isOfRequirements(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== "MODULE_INVALID") return false;
  const { errors = [] } = error.problem;
  return errors.length > 0 && errors.every(({ pointer }) => pointer.startsWith("/requires/"));
}

/** What needs no server, but the library, which takes longer to load than to ask a server. */
function addOfflineCommands(modules: Command, run: Run): void {
  modules
    .command("check <file...>")
    .description(
      "find every fault of files and folders, as an upload would, without a server; - is standard input",
    )
    .action(
      run(async (call, paths: string[]) => {
        const { checkModule } = await import("fleetwright");
        const given = await readModules(call.context, paths);
        const checks = given.map(({ file, content }) => ({ file, ...checkModule(content) }));
        call.show(checks, () => checks.map(describeCheck).join(""));
        return checks.every(({ faults }) => faults.length === 0) ? exitCode.ok : exitCode.failure;
      }),
    );
  modules
    .command("schema")
    .description("print the format of modules as JSON Schema, for editors")
    .action(
      run(async (call) => {
        const { moduleJsonSchema } = await import("fleetwright");
        const schema = moduleJsonSchema();
        call.show(schema, () => toJson(schema));
      }),
    );
}

const columns: readonly Column<Module>[] = [
  ["MODULE", ({ name }) => name],
  ["REVISION", ({ revision }) => revision],
  ["RESOURCES", ({ resource_count }) => resource_count],
  ["USED BY", ({ used_by }) => used_by.join(" ")],
  ["UPLOADED", ({ uploaded_at }) => uploaded_at, timeColumn],
  ["BY", ({ uploaded_by }) => uploaded_by],
];

/** As compilers write it, which editors turn into links. */
function describeCheck({ file, name, resources, faults }: ModuleCheck & { file: string }): string {
  if (faults.length === 0)
    return toLines([toLine(`${file}: ${name}, ${countOf(resources, "resource")}, no fault`)]);
  return toLines(
    faults.map(({ line = 1, column = 1, message }) => toLine(`${file}:${line}:${column}: ${message}`)),
  );
}

function describeUpload({ name, revision, created }: Module & { created: boolean }): string {
  return created
    ? `${name} is now at revision ${revision}.`
    : `${name} is at revision ${revision} as before.`;
}
