import type { z } from "zod";
import { answering, repeatable, type Caller } from "../callers/caller.ts";
import type { Permission } from "../callers/permissions.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { Tags } from "./documents.ts";
import type { ManyAgents } from "./many-agents.ts";
import { changeTagsInput, type AgentOutcomes } from "./many-schemas.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";
import {
  removeTagInput,
  replaceTagsInput,
  setTagInput,
  tagsSchema,
  type AgentTags,
  type TagList,
} from "./schemas.ts";

/** Whose tags are changed, and by whom. */
interface TagChange {
  caller: Caller;
  node_id: string;
  options: ChangeOptions | undefined;
  /** Whether the call is answered with the tags. */
  answers?: boolean;
  /** Whether nothing is written where the tags are so already. */
  onlyIfOther?: boolean;
}

/** Key/value pairs that operators attach to agents, for selectors to match. Options are those of any change: see {@link ChangeOptions}. */
export class TagVerbs {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #many: ManyAgents;

  constructor(context: Context, registry: AgentRegistry, many: ManyAgents) {
    this.#context = context;
    this.#registry = registry;
    this.#many = many;
  }

  /** Lists every distinct key with its values, and how many agents have each. */
  async list(caller: Caller): Promise<TagList> {
    await this.#context.authorize(caller, "tags.list");
    const items = this.#registry.index.tagSummary().map(({ key, values }) => ({
      key,
      values: values.map(({ value, count }) => ({ value, agents: count })),
    }));
    return { items };
  }

  /** Gives an agent exactly these tags. */
  async replace(
    caller: Caller,
    input: z.input<typeof replaceTagsInput>,
    options?: ChangeOptions,
  ): Promise<AgentTags> {
    const { node_id, tags } = await this.#begin(caller, "tags.replace", () =>
      parseInput(replaceTagsInput, input),
    );
    return this.#change({ caller, node_id, options, answers: true }, () => tags);
  }

  /** Sets one tag of an agent. */
  async set(caller: Caller, input: z.input<typeof setTagInput>, options?: ChangeOptions): Promise<AgentTags> {
    const { node_id, key, value } = await this.#begin(caller, "tags.set", () =>
      parseInput(setTagInput, input),
    );
    const change = { caller, node_id, options, answers: true };
    return this.#change(change, (tags) => ({ ...tags, [key]: value }));
  }

  /**
   * Takes one tag from an agent.
   *
   * @throws {OrchestratorError} `NOT_FOUND` where it has no such tag.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof removeTagInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    const { node_id, key } = await this.#begin(caller, "tags.remove", () =>
      parseInput(removeTagInput, input),
    );
    await this.#change({ caller, node_id, options }, (tags) => {
      if (!Object.hasOwn(tags, key))
        throw new OrchestratorError("NOT_FOUND", { message: `The agent has no tag ${key}.` });
      return Object.fromEntries(Object.entries(tags).filter(([name]) => name !== key));
    });
  }

  /**
   * Sets and takes away tags of up to 1,000 agents, all those of one agent in one step. An agent that would have too many fails, and
   * keeps none of the others; one that has them so already is not written. A selector reaches approved agents alone: what strangers say of
   * themselves gets them no tags.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED`; `SELECTOR_INVALID`; `CURSOR_INVALID`; `NO_MATCH` where a selector matches none.
   */
  async change(caller: Caller, input: z.input<typeof changeTagsInput>): Promise<AgentOutcomes> {
    const { set, remove, ...which } = await this.#begin(caller, "tags.change", () =>
      parseInput(changeTagsInput, input),
    );
    const gone = new Set(remove);
    const tagsOf = (tags: Tags): Tags =>
      Object.fromEntries(Object.entries({ ...tags, ...set }).filter(([key]) => !gone.has(key)));
    const each = repeatable(caller);
    return this.#many.each(this.#many.choose(which, ["approved"]), {
      change: async (node_id) => {
        const change = { caller: each, node_id, options: undefined, onlyIfOther: true };
        return (await this.#changeOnce(change, tagsOf)) !== null;
      },
    });
  }

  async #begin<Input>(caller: Caller, permission: Permission, parse: () => Input): Promise<Input> {
    await this.#context.authorize(caller, permission);
    return parse();
  }

  /** Changes the tags, and tells of it also where they were so. */
  async #change(change: TagChange, tagsOf: (tags: Tags) => Tags): Promise<AgentTags> {
    return (await this.#changeOnce(change, tagsOf))!;
  }

  /** Changes the tags, again where somebody else changed the agent at the same time. Null where nothing was to be written. */
  #changeOnce(
    { caller, node_id, options, answers = false, onlyIfOther = false }: TagChange,
    change: (tags: Tags) => Tags,
  ): Promise<AgentTags | null> {
    return retryOnConflict(async () => {
      const before = await this.#registry.read(node_id);
      requireVersion(before, options);
      const tags = parseInput(tagsSchema, change({ ...before.value.tags }));
      if (onlyIfOther && isSame(before.value.tags, tags)) return null;
      const changed = { tags, version: before.revision + 1 };
      await this.#registry.write(answering(caller, answers ? changed : undefined), {
        before,
        after: { ...before.value, tags },
        event: {
          type: "agent.tagsChanged",
          target: agentSubject(before.value),
          summary: `The tags of ${before.value.name ?? before.value.hostname} changed`,
          metadata: { before: before.value.tags, after: tags },
        },
      });
      return changed;
    });
  }
}

function isSame(before: Readonly<Tags>, after: Readonly<Tags>): boolean {
  const entries = Object.entries(after);
  return (
    entries.length === Object.keys(before).length &&
    entries.every(([key, value]) => Object.hasOwn(before, key) && before[key] === value)
  );
}
