/** What the option of an orchestrator may be that takes types of channels of a program's own. */
import type { Issue } from "../../errors.ts";
import { fault, inProgramOnly, type OptionRule } from "../../internal/option-rules.ts";
import { channelTypes } from "./channel-types.ts";
import type { ChannelType } from "./sender.ts";

export const channelTypesRule: OptionRule = inProgramOnly((own) => {
  if (typeof own !== "object" || own === null || Array.isArray(own))
    return [fault("must be an object of your own types by their names")];
  return Object.entries(own).flatMap(([name, type]) => faultsOf(name, type as Partial<ChannelType> | null));
});

/** What every type has: programs in JavaScript learn it now, not with the first message. */
function faultsOf(name: string, type: Partial<ChannelType> | null | undefined): Issue[] {
  const isSchema = typeof (type?.config as { safeParse?: unknown } | undefined)?.safeParse === "function";
  return [
    ...(/^[a-z][a-z0-9_-]{0,63}$/.test(name)
      ? []
      : [fault("must have a name of a-z, 0-9, '_' and '-'", [name])]),
    ...(Object.hasOwn(channelTypes, name)
      ? [fault("has the name of a type that ships with the package", [name])]
      : []),
    ...(isSchema ? [] : [fault("must be there", [name, "config"])]),
    ...(Array.isArray(type?.secretFields) ? [] : [fault("must be there", [name, "secretFields"])]),
    ...(typeof type?.send === "function" ? [] : [fault("must be there", [name, "send"])]),
  ];
}
