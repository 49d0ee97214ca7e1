export { ConversionFunctions } from './conversion/conversion-functions.ts';
export type { ConversionRequest, ConvertObject } from './conversion/function-converter.ts';
export { DefinitionController, type DefinitionControllerOptions } from './definition/definition-controller.ts';
export { definitionErrors } from './definition/definition-errors.ts';
export { definitionMakers } from './definition/definition-makers.ts';
export { type DefinitionResourceOptions, definitionResource, definitionsId } from './definition/definition-resource.ts';
export { type CustomResourceOptions, customResource } from './resource/custom-resource.ts';
