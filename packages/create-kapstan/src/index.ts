export { type CommandOptions, main } from './command.ts';
export { type CreatedProject, createProject } from './create-project.ts';
export { ProjectError, type ProjectOptions } from './project-options.ts';
