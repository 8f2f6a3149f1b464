// Command chart renders a Helm chart as `helm template` does, after the checks of `helm lint`. It prints the objects,
// which it decodes strictly: an unknown or misspelled field is an error.
//
//	chart <folder of the chart> <file of values>
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

const namespace = "statistics"

func main() {
	objects, err := render(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, object := range objects {
		fmt.Println("---\n" + object)
	}
}

func render(folder string, valuesFile string) ([]string, error) {
	values, err := chartutil.ReadValuesFile(valuesFile)
	if err != nil {
		return nil, err
	}
	if err := check(folder, values); err != nil {
		return nil, err
	}
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "sotto", Namespace: namespace, Revision: 1, IsInstall: true}
	inputs, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, inputs)
	if err != nil {
		return nil, err
	}
	return objectsOf(files)
}

// check returns the warnings and errors of `helm lint --strict`.
func check(folder string, values chartutil.Values) error {
	var found []error
	for _, message := range lint.All(folder, values, namespace, true).Messages {
		if message.Severity >= support.WarningSev {
			found = append(found, message)
		}
	}
	return errors.Join(found...)
}

// objectsOf returns the objects in the order of their files.
func objectsOf(files map[string]string) ([]string, error) {
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var objects []string
	for _, name := range names {
		for _, text := range strings.Split("\n"+files[name], "\n---") {
			object := strings.TrimSpace(text)
			if object == "" {
				continue
			}
			if err := decode(object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			objects = append(objects, object)
		}
	}
	return objects, nil
}

var decoder = newDecoder()

func newDecoder() serializer.CodecFactory {
	// The types of the Prometheus operator are not part of Kubernetes.
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
}

func decode(object string) error {
	_, _, err := decoder.UniversalDeserializer().Decode([]byte(object), nil, nil)
	return err
}
