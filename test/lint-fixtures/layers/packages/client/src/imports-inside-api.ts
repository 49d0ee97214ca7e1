import '../../api/src/inner.ts';
