// Sends a request with client-go for each line of its standard input, with the credentials of a
// kubeconfig, and answers with a line of JSON: the name of the user, or the error. It keeps its
// client, so client-go decides when the exec plugin runs again.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type answer struct {
	User  string `json:"user,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	client, err := connect(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text, _ := json.Marshal(ask(client))
		fmt.Println(string(text))
	}
}

func connect(kubeconfig string) (*rest.RESTClient, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.APIPath = "/apis"
	config.GroupVersion = &authenticationv1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(config)
}

func ask(client *rest.RESTClient) answer {
	review := &authenticationv1.SelfSubjectReview{}
	err := client.Post().
		Resource("selfsubjectreviews").
		VersionedParams(&metav1.CreateOptions{}, scheme.ParameterCodec).
		Body(review).
		Do(context.Background()).
		Into(review)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{User: review.Status.UserInfo.Username}
}
