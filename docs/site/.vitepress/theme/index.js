import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import './style.css';
import SizingForm from './SizingForm.vue';

export default {
  extends: DefaultTheme,
  Layout: {
    setup() {
      const { page } = useData();
      const isSizing = () => page.value.relativePath === 'docs/guide/sizing.md';
      return () => h(DefaultTheme.Layout, null, { 'doc-after': () => (isSizing() ? h(SizingForm) : undefined) });
    },
  },
};
