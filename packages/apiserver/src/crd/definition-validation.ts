export const validateDefinition = (): void => undefined;
export const validateDefinitionChange = (): void => undefined;
export const validateDefinitionStatus = (): void => undefined;
