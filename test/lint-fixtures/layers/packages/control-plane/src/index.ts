export const name = 'control-plane';
