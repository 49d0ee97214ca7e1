export { abandonedFiles, type GeneratedFile, outdatedFiles, writeFiles } from './output/generated-file.ts';
export { definitionFiles } from './program/definition-files.ts';
export { loadProgram, type Program, programOf } from './program/load-program.ts';
export { type ManifestOptions, manifestFile } from './program/manifest-file.ts';
export { programRights, type RoleFileOptions, roleFile } from './program/role-file.ts';
export { definitionsIn, type SourcedDefinition } from './source/definition-document.ts';
export { readDefinitions, readDefinitionsOfCluster } from './source/read-definitions.ts';
export { type TypeFilesOptions, typeFiles } from './types/generate-types.ts';
