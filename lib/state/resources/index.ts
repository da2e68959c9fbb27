/** Every type that ships with the package. Adding one: its file, one line here, its test, its page. */
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import { directoryResourceType } from "./directory.ts";
import { fileResourceType } from "./file.ts";
import { lineResourceType } from "./line.ts";
import { packageRepositoryResourceType } from "./package-repository.ts";
import { packageResourceType } from "./package.ts";
import { scriptResourceType } from "./script.ts";
import { symlinkResourceType } from "./symlink.ts";

const types: ResourceType[] = [
  directoryResourceType,
  fileResourceType,
  lineResourceType,
  packageResourceType,
  packageRepositoryResourceType,
  scriptResourceType,
  symlinkResourceType,
];

/** The types by their name, in the order of the alphabet. */
export const resourceTypes: ResourceTypes = new Map(types.map((type) => [type.type, type]));
